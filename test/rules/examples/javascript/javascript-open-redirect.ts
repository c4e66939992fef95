import express, { type Request, type Response } from 'express';

const app = express();

app.get('/login', (req: Request, res: Response) => {
  // ruleid: javascript-open-redirect
  res.redirect(req.query.next as string);
});

app.get('/moved', (req: Request, res: Response) => {
  const target = req.query.to;
  // ruleid: javascript-open-redirect
  res.redirect(301, `${target}?moved=1`);
});

app.get('/login/fixed', (req: Request, res: Response) => {
  // ok: javascript-open-redirect
  res.redirect(`/welcome?tab=${req.query.tab}`);
});
