"""What writes the files of this repository that are made from code. Not part of the package that is installed."""
