"""`python -m orbweaver` runs the command `orbweaver`."""

from orbweaver.cli.main import main

if __name__ == "__main__":
    main()
