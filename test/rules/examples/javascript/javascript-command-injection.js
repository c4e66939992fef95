const { exec, execFile, spawn } = require('node:child_process');
const express = require('express');

const app = express();
const PATTERN = /^v(\d+)$/;

app.post('/thumbnails', (req, res) => {
  const { file } = req.body;
  // ruleid: javascript-command-injection
  exec(`convert ${file} -resize 200x200 out.png`, () => res.sendStatus(204));
});

app.post('/thumbnails/spawned', (req, res) => {
  // ruleid: javascript-command-injection
  spawn('convert', [req.body.file, 'out.png'], { shell: true });
  res.sendStatus(202);
});

app.post('/thumbnails/fixed', (req, res) => {
  const { file } = req.body;
  // ok: javascript-command-injection
  execFile('convert', [file, '-resize', '200x200', 'out.png'], () => res.sendStatus(204));
});

app.get('/version', (req, res) => {
  // ok: javascript-command-injection
  res.json({ version: PATTERN.exec(req.query.version) });
});
