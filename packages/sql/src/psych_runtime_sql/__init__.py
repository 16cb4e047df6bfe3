"""What the SQL stores share: tables, statements, migrations."""
