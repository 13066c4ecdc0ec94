"""Other tools' files: `importers` make stores of them, `exporters` make them of stores.

What reading and writing a format share stands beside both: `published` has the words of the published pcie-bench
files, `raw_results` those of the NetFPGA design, `spreadsheet` what a CSV file has to beware of.
"""
