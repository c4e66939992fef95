const jwt = require('jsonwebtoken');

function subject(token, key) {
  // ruleid: javascript-jwt-unverified
  return jwt.verify(token, key, { algorithms: ['RS256', 'none'] }).sub;
}

function subjectWithoutKey(token) {
  // ruleid: javascript-jwt-unverified
  return jwt.verify(token, null).sub;
}

function subjectFixed(token, key) {
  // ok: javascript-jwt-unverified
  return jwt.verify(token, key, { algorithms: ['RS256'] }).sub;
}

module.exports = { subject, subjectWithoutKey, subjectFixed };
