const express = require('express');
const vm = require('node:vm');

const app = express();

app.post('/filters', (req, res) => {
  // ruleid: javascript-code-injection
  const filter = new Function('row', `return ${req.body.filter}`);
  res.json(rows().filter(filter));
});

app.post('/rules', (req, res) => {
  const rule = req.body.rule;
  // ruleid: javascript-code-injection
  res.json(vm.runInNewContext(rule, {}));
});

app.post('/filters/fixed', (req, res) => {
  const { field, value } = req.body;
  // ok: javascript-code-injection
  const filter = new Function('row', 'return row.active');
  res.json(rows().filter((row) => filter(row) && row.get(field) === value));
});
