"""The report page: one self-contained HTML file.

`python -m analysis.report results/<study>` writes `report/index.html` from the CSV files of the other steps.
"""
