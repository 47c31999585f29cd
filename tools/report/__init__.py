"""A report: Markdown made into one HTML file that holds its pictures."""
