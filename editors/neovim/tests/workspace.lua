--- A workspace with an agent that plays a rehearsal, and a home of its own.
local M = {}

local files = {
  ['.agent-ls/agent.toml'] = [=[
[agent]
name = "fixer"
model = "rehearsal"

[models.rehearsal]
provider = "rehearsal"
script = "play.yaml"

[stages.work]
system = "Work."
tools = ["*"]

[stages.work.hooks]
on_tool_call = "hooks/guard.risor"
]=],
  ['.agent-ls/hooks/guard.risor'] = [=[
func on_tool_call(ctx) {
    for _, call := range ctx.tool_calls {
        if call.name == "shell" {
            return {action: "deny", reason: "no commands here", calls: [call.id]}
        }
    }
    return nil
}
]=],
  ['.agent-ls/play.yaml'] = [=[
turns:
  - text: "I look."
    tool_calls:
      - { name: read_file, arguments: { path: "calc.go" } }
      - { name: shell, arguments: { command: "rm -rf build" } }
  - expect: "no commands here"
    text: "I edit."
    tool_calls:
      - { name: edit, arguments: { path: "calc.go", old_string: "a - b", new_string: "a + b" } }
  - text: "Done with it."
]=],
  ['calc.go'] = 'package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a - b }\n',
}

local function write(path, text)
  vim.fn.mkdir(vim.fn.fnamemodify(path, ':h'), 'p')
  local f = assert(io.open(path, 'wb'))
  f:write(text)
  f:close()
end

--- @param changed? table<string, string> files that are different
--- @return string root, table<string, string> env
function M.make(changed)
  local base = vim.uv.fs_realpath(vim.fn.tempname():match('^(.*)/')) .. '/ws-' .. vim.uv.hrtime()
  local root = base .. '/a project'
  for name, text in pairs(vim.tbl_extend('force', files, changed or {})) do
    write(root .. '/' .. name, text)
  end
  local env = {
    HOME = base .. '/home',
    XDG_STATE_HOME = base .. '/home/state',
    XDG_CONFIG_HOME = base .. '/home/config',
    XDG_CACHE_HOME = base .. '/home/cache',
    XDG_DATA_HOME = base .. '/home/data',
    PATH = vim.fn.fnamemodify(vim.env.AGENT_LS, ':h') .. ':' .. vim.env.PATH,
  }
  vim.fn.mkdir(env.HOME, 'p')
  return root, env
end

--- The manifest of a workspace that is not told otherwise.
M.manifest = files['.agent-ls/agent.toml']

M.write = write

--- @return string
function M.read(path)
  local f = assert(io.open(path, 'rb'))
  local text = f:read('*a')
  f:close()
  return text
end

return M
