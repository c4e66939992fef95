import { createReadStream } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import express, { type Request, type Response } from 'express';

const app = express();
const REPORTS = '/srv/reports/';

app.get('/reports/raw', async (req: Request, res: Response) => {
  const file = path.join(REPORTS, String(req.query.name));
  // ruleid: javascript-path-traversal
  res.send(await fs.readFile(file, 'utf8'));
});

app.get('/reports/stream', (req: Request, res: Response) => {
  // ruleid: javascript-path-traversal
  createReadStream(REPORTS + req.query.name).pipe(res);
});

app.get('/reports/named', async (req: Request, res: Response) => {
  const file = path.join(REPORTS, path.basename(String(req.query.name)));
  // ok: javascript-path-traversal
  res.send(await fs.readFile(file, 'utf8'));
});

app.get('/reports/checked', async (req: Request, res: Response) => {
  const file = path.resolve(REPORTS, String(req.query.name));
  if (!file.startsWith(REPORTS)) return res.sendStatus(404);
  // ok: javascript-path-traversal
  return res.send(await fs.readFile(file, 'utf8'));
});

app.get('/reports/rooted', (req: Request, res: Response) => {
  // ok: javascript-path-traversal
  res.sendFile(String(req.query.name), { root: REPORTS });
});
