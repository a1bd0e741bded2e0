"""`report.html`: what a training found out, and what is doubtful in its data, as one page without scripts from elsewhere."""
