const express = require('express');
const { User } = require('./models');

const app = express();

app.post('/login', async (req, res) => {
  // ruleid: javascript-nosql-injection
  const user = await User.findOne({ name: req.body.name, pin: req.body.pin });
  res.json(user);
});

app.delete('/users', async (req, res) => {
  // ruleid: javascript-nosql-injection
  res.json(await User.deleteMany(req.query));
});

app.post('/login/fixed', async (req, res) => {
  // ok: javascript-nosql-injection
  const user = await User.findOne({ name: String(req.body.name), pin: String(req.body.pin) });
  res.json(user);
});
