/** How to connect a client. */
export interface Snippet {
  client: string;
  /** Where the code goes. */
  where: string;
  code: string;
}

const NAME = 'backup-observatory';
/** The placeholder for MCP_AUTH_TOKEN, which the server does not reveal. */
export const TOKEN = 'YOUR_MCP_AUTH_TOKEN';

/** The snippets for the MCP server at an address. */
export function snippetsFor(url: string): Snippet[] {
  const authorization = `Bearer ${TOKEN}`;
  const overHttp = { url, headers: { Authorization: authorization } };
  return [
    {
      client: 'Claude Code',
      where: 'Run this once:',
      code: `claude mcp add --transport http ${NAME} ${url} --header "Authorization: ${authorization}"`,
    },
    {
      client: 'Claude Desktop',
      where:
        'On the server’s machine, in claude_desktop_config.json (Settings, Developer, Edit Config), with the path of the Backup Observatory folder. It needs no token:',
      code: json({
        mcpServers: {
          [NAME]: {
            command: 'npm',
            args: ['run', '-s', 'mcp', '--prefix', '/path/to/backup-observatory'],
          },
        },
      }),
    },
    {
      client: 'Cursor',
      where: 'In ~/.cursor/mcp.json, or in .cursor/mcp.json of a project:',
      code: json({ mcpServers: { [NAME]: overHttp } }),
    },
    {
      client: 'VS Code',
      where: 'In .vscode/mcp.json. It asks for the token, and keeps it encrypted:',
      code: json({
        inputs: [
          {
            type: 'promptString',
            id: `${NAME}-token`,
            description: 'MCP_AUTH_TOKEN',
            password: true,
          },
        ],
        servers: {
          [NAME]: {
            type: 'http',
            url,
            headers: { Authorization: `Bearer \${input:${NAME}-token}` },
          },
        },
      }),
    },
    {
      client: 'Codex',
      where: 'In ~/.codex/config.toml, with the token in the environment variable named there:',
      code: `[mcp_servers.${NAME}]\nurl = "${url}"\nbearer_token_env_var = "MCP_AUTH_TOKEN"`,
    },
    {
      client: 'Gemini CLI',
      where: 'In ~/.gemini/settings.json:',
      code: json({
        mcpServers: { [NAME]: { httpUrl: url, headers: { Authorization: authorization } } },
      }),
    },
    {
      client: 'Any other client',
      where: 'Streamable HTTP, in the form that most clients read:',
      code: json({ mcpServers: { [NAME]: { type: 'http', ...overHttp } } }),
    },
    {
      client: 'curl',
      where: 'To try it:',
      code: `curl -s ${url} -H "Authorization: ${authorization}" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
    },
  ];
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
