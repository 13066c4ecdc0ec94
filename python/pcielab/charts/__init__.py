"""What figures are drawn with: runs and their labels, axes, series, panels and themes."""
