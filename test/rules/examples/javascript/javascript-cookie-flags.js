const express = require('express');

const app = express();

app.post('/login', (req, res) => {
  // ruleid: javascript-cookie-flags
  res.cookie('session', newSession(), { sameSite: 'lax' });
  res.sendStatus(204);
});

app.post('/login/readable', (req, res) => {
  // ruleid: javascript-cookie-flags
  res.cookie('session', newSession(), { secure: true, httpOnly: false });
  res.sendStatus(204);
});

app.post('/login/fixed', (req, res) => {
  // ok: javascript-cookie-flags
  res.cookie('session', newSession(), { httpOnly: true, secure: true, sameSite: 'lax' });
  // ok: javascript-cookie-flags
  res.cookie('theme', 'dark');
  res.sendStatus(204);
});
