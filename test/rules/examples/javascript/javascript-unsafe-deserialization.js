const serialize = require('node-serialize');

function readProfile(cookie) {
  const text = Buffer.from(cookie, 'base64').toString();
  // ruleid: javascript-unsafe-deserialization
  return serialize.unserialize(text);
}

function readProfileFixed(cookie) {
  const text = Buffer.from(cookie, 'base64').toString();
  // ok: javascript-unsafe-deserialization
  return JSON.parse(text);
}

module.exports = { readProfile, readProfileFixed };
