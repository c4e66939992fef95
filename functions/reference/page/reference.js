/* The reference page's own part: signing in, and handing the credential to Swagger UI. */

const ui = window.SwaggerUIBundle({
  url: '/api/openapi.json',
  domNode: document.getElementById('reference'),
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  // Nothing of this page leaves the machine: no external validator.
  validatorUrl: null,
});

const byId = (id) => document.getElementById(id);
const state = byId('session-state');

function show(text, kind) {
  state.textContent = text;
  state.className = kind;
}

function showSignedIn(text) {
  show(text, 'signed-in');
  byId('sign-in').hidden = true;
  byId('use-key').hidden = true;
  byId('sign-out').hidden = false;
}

async function whoAmI(headers) {
  const response = await fetch('/api/auth/me', { headers });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message ?? `The server answered ${response.status}`);
  return body;
}

async function attempt(form, work) {
  const button = form.querySelector('button');
  button.disabled = true;
  try {
    await work();
    form.reset();
  } catch (error) {
    show(error.message, 'failed');
  } finally {
    button.disabled = false;
  }
}

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  attempt(event.target, async () => {
    const response = await fetch('/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: byId('email').value, password: byId('password').value }),
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body.error?.message ?? `The server answered ${response.status}`);
    const me = await whoAmI({ authorization: `Bearer ${body.access_token}` });
    ui.preauthorizeApiKey('bearer', body.access_token);
    showSignedIn(`Signed in as ${me.email} (${me.role ?? 'no organization'})`);
  });
});

byId('use-key').addEventListener('submit', (event) => {
  event.preventDefault();
  attempt(event.target, async () => {
    const key = byId('key').value.trim();
    const me = await whoAmI({ 'x-api-key': key });
    ui.preauthorizeApiKey('apiKey', key);
    showSignedIn(`Using the API key ${me.name}`);
  });
});

byId('sign-out').addEventListener('click', () => window.location.reload());
