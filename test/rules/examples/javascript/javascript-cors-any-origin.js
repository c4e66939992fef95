const cors = require('cors');
const express = require('express');

const app = express();
// ruleid: javascript-cors-any-origin
app.use(cors({ origin: true, credentials: true }));

app.use((req, res, next) => {
  // ruleid: javascript-cors-any-origin
  res.setHeader('Access-Control-Allow-Origin', req.headers.origin);
  res.setHeader('Access-Control-Allow-Credentials', 'true');
  next();
});

const fixed = express();
// ok: javascript-cors-any-origin
fixed.use(cors({ origin: ['https://app.example.com'], credentials: true }));

const open = express();
// ok: javascript-cors-any-origin
open.use(cors({ origin: '*' }));
