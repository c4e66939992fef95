import axios from 'axios';
import express, { type Request, type Response } from 'express';

const app = express();
const FEEDS: Record<string, string> = { news: 'https://feeds.example.com/news.xml' };

app.get('/preview', async (req: Request, res: Response) => {
  const { url } = req.query;
  // ruleid: javascript-ssrf
  const page = await axios.get(url as string);
  res.send(page.data);
});

app.get('/avatar', async (req: Request, res: Response) => {
  // ruleid: javascript-ssrf
  const image = await fetch(`https://${req.query.host}/avatar.png`);
  res.send(await image.text());
});

app.get('/feed', async (req: Request, res: Response) => {
  const url = FEEDS[String(req.query.feed)];
  // ok: javascript-ssrf
  const page = await axios.get(url);
  res.send(page.data);
});

app.get('/user', async (req: Request, res: Response) => {
  // ok: javascript-ssrf
  const user = await fetch(`https://users.example.com/${req.query.name}`);
  res.send(await user.text());
});
