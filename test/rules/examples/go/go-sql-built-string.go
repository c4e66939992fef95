package example

import (
	"context"
	"database/sql"
	"fmt"
)

func findUser(ctx context.Context, db *sql.DB, name string) *sql.Row {
	// ruleid: go-sql-built-string
	return db.QueryRowContext(ctx, "SELECT id, name FROM users WHERE name = '"+name+"'")
}

func deleteUser(db *sql.DB, name string) error {
	statement := fmt.Sprintf("DELETE FROM users WHERE name = '%s'", name)
	// ruleid: go-sql-built-string
	_, err := db.Exec(statement)
	return err
}

func findUserFixed(ctx context.Context, db *sql.DB, name string) *sql.Row {
	// ok: go-sql-built-string
	return db.QueryRowContext(ctx, "SELECT id, name FROM users WHERE name = $1", name)
}

func count(ctx context.Context, db *sql.DB, table string) *sql.Row {
	// ok: go-sql-built-string
	return db.QueryRowContext(ctx, "SELECT count(*) FROM "+table)
}
