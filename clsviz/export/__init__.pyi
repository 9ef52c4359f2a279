from .picture import picture
from .report import report
from .summary import about, link, summary
from .tables import table, to_csv, to_parquet

__all__ = ["about", "link", "picture", "report", "summary", "table", "to_csv", "to_parquet"]
