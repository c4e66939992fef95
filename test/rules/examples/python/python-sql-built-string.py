import sqlite3


def find_user(connection: sqlite3.Connection, name: str):
    cursor = connection.cursor()
    # ruleid: python-sql-built-string
    cursor.execute(f"SELECT id, name FROM users WHERE name = '{name}'")
    return cursor.fetchone()


def delete_user(connection: sqlite3.Connection, name: str) -> None:
    statement = "DELETE FROM users WHERE name = '%s'" % name
    # ruleid: python-sql-built-string
    connection.execute(statement)


def find_user_fixed(connection: sqlite3.Connection, name: str):
    cursor = connection.cursor()
    # ok: python-sql-built-string
    cursor.execute("SELECT id, name FROM users WHERE name = ?", (name,))
    return cursor.fetchone()


def find_users(connection: sqlite3.Connection, ids: list[int]):
    # ok: python-sql-built-string
    return connection.execute(f"SELECT name FROM users WHERE id IN ({','.join('?' * len(ids))})", ids)
