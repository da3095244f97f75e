"""The command line has one thin file for each command."""
