#!/usr/bin/env bash
# Real MCP servers, started and called by a run of the real binary: in its sandbox, with the rehearsal model.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
npm_lane mcp 'MCP servers' 'Node.js 20 or later with npm'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/ws/.agent-ls/rehearsal"
cd "$work/ws"
cp -R "$bed/mcp/node_modules" . # commands see the workspace
echo 'the text of a note' > note.txt
cat > "$work/config.toml" <<'TOML'
[policy]
allow = ["mcp__everything__*", "mcp__files__*"]
deny = ["mcp__files__write_file"]
[mcp.everything]
command = ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]
[mcp.files]
command = ["node", "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", "."]
TOML
cat > .agent-ls/agent.toml <<'TOML'
[agent]
model = "rehearsal"
[models.rehearsal]
provider = "rehearsal"
script = "rehearsal/run.yaml"
TOML
cat > .agent-ls/rehearsal/run.yaml <<'YAML'
turns:
  - tool_calls:
      - { name: find_tools, arguments: {} }
  - expect: "mcp__everything__echo[\\s\\S]*mcp__files__read_text_file"
    tool_calls:
      - { name: mcp__everything__echo, arguments: { message: "hello" } }
      - { name: mcp__files__read_text_file, arguments: { path: "note.txt" } }
      - { name: mcp__files__write_file, arguments: { path: "made.txt", content: "x" } }
  - expect: "Echo: hello[\\s\\S]*the text of a note[\\s\\S]*denied"
    text: "Both servers answered."
YAML
said=$(XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache timeout 120 "$AGENT_LS" run --config "$work/config.toml" 'use the servers' 2>"$work/log") || { cat "$work/log"; echo '0 passed, 1 failed'; exit 1; }
if [ "$said" = 'Both servers answered.' ] && [ ! -e made.txt ]; then
  echo '1 passed, 0 failed'
else
  cat "$work/log"
  echo '0 passed, 1 failed'
  exit 1
fi
