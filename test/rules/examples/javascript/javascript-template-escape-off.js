const Handlebars = require('handlebars');

const SOURCE = '<p>Hello {{name}}</p>';

// ruleid: javascript-template-escape-off
const greeting = Handlebars.compile(SOURCE, { noEscape: true });

// ok: javascript-template-escape-off
const greetingFixed = Handlebars.compile(SOURCE);

module.exports = { greeting, greetingFixed };
