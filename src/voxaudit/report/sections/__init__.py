"""The chapters of a report, one file each: `section(context) -> Section`."""
