"""Notes in SQLite."""


def create(db):
    db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT)")


def add(db, title, body):
    db.execute("INSERT INTO notes (title, body) VALUES (?, ?)", (title, body))


def search(db, text):
    """Titles of the notes that contain the text, sorted."""
    rows = db.execute(f"SELECT title FROM notes WHERE title LIKE '%{text}%' ORDER BY title")
    return [row[0] for row in rows]


def rename(db, number, column, value):
    """Change a column of a note."""
    db.execute(f"UPDATE notes SET {column} = '{value}' WHERE id = {number}")
