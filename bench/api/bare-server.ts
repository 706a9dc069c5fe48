import { createServer } from 'node:http';
import { Pool } from 'pg';

// A program without a framework: node:http, pg, two queries, JSON.stringify. It serves only the response of
// GET /api/backups, and checks nothing.

const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
const columns = `id, started_at, completed_at, status, duration_ms::float8 AS duration_ms, total_repos,
  successful, failed, skipped, error_message`;

const server = createServer(async (request, response) => {
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? 50);
  const runs = await pool.query({
    name: 'runs',
    text: `SELECT ${columns} FROM backup_runs ORDER BY started_at DESC, id DESC LIMIT $1 OFFSET $2`,
    values: [limit, (page - 1) * limit],
  });
  const counted = await pool.query({
    name: 'count',
    text: 'SELECT count(*)::int AS total FROM backup_runs',
  });
  const total = counted.rows[0].total;
  const pagination = { page, limit, total_items: total, total_pages: Math.ceil(total / limit) };
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ data: runs.rows, pagination }));
});
server.listen(Number(process.env.PORT), '127.0.0.1');
