const libxml = require('libxmljs');

function readInvoice(document) {
  // ruleid: javascript-xxe
  return libxml.parseXml(document, { noent: true, nonet: false });
}

function readInvoiceFixed(document) {
  // ok: javascript-xxe
  return libxml.parseXml(document, { noent: false, nonet: true });
}

module.exports = { readInvoice, readInvoiceFixed };
