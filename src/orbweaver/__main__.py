"""`python -m orbweaver` is `orbweaver`."""

from orbweaver.cli.main import main

if __name__ == "__main__":
    main()
