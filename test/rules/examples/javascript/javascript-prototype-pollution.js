const express = require('express');
const _ = require('lodash');

const app = express();
const settings = {};
const SECTIONS = ['mail', 'theme'];

app.put('/settings', (req, res) => {
  const { section, key, value } = req.body;
  // ruleid: javascript-prototype-pollution
  settings[section][key] = value;
  res.sendStatus(204);
});

app.patch('/settings', (req, res) => {
  // ruleid: javascript-prototype-pollution
  _.merge(settings, req.body);
  res.sendStatus(204);
});

app.put('/settings/fixed', (req, res) => {
  const { section, key, value } = req.body;
  if (!SECTIONS.includes(section)) return res.sendStatus(400);
  // ok: javascript-prototype-pollution
  settings[section][key] = value;
  return res.sendStatus(204);
});
