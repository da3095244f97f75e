"""The systems that are compared: each file has a `publisher` and a `subscriber`, which run in
processes of their own until they are told to stop."""
