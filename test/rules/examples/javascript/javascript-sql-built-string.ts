import { Pool } from 'pg';

const pool = new Pool();

export async function findUser(name: string) {
  // ruleid: javascript-sql-built-string
  return pool.query(`SELECT id, name FROM users WHERE name = '${name}'`);
}

export async function deleteUser(name: string) {
  const statement = "DELETE FROM users WHERE name = '" + name + "'";
  // ruleid: javascript-sql-built-string
  return pool.query(statement);
}

export async function findUserFixed(name: string) {
  // ok: javascript-sql-built-string
  return pool.query('SELECT id, name FROM users WHERE name = $1', [name]);
}

export async function findUsers(ids: string[]) {
  const placeholders = ids.map((_, index) => `$${index + 1}`).join(', ');
  // ok: javascript-sql-built-string
  return pool.query(`SELECT name FROM users WHERE id IN (${placeholders})`, ids);
}
