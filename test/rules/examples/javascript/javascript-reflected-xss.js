const escapeHtml = require('escape-html');
const express = require('express');

const app = express();

app.get('/search', (req, res) => {
  // ruleid: javascript-reflected-xss
  res.send(`<h1>Results for ${req.query.q}</h1>`);
});

app.get('/missing', (req, res) => {
  const name = req.query.name;
  // ruleid: javascript-reflected-xss
  res.status(404).send('<p>No such page: ' + name + '</p>');
});

app.get('/search/fixed', (req, res) => {
  // ok: javascript-reflected-xss
  res.send(`<h1>Results for ${escapeHtml(req.query.q)}</h1>`);
});

app.get('/echo', (req, res) => {
  // ok: javascript-reflected-xss
  res.send({ q: req.query.q });
});
