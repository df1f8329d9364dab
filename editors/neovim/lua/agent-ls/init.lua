--- agent-ls for Neovim: a thin client of the server's `agent/*` requests. It draws and asks; what
--- is right and what is allowed is the server's to say. Start at `agent-ls.client` for the connection,
--- `agent-ls.command` for `:Agent`.
local M = {}

--- @class agent_ls.Options
--- @field cmd string[] The server's command line.
--- @field open_log boolean Whether a run opens its log in a split.
--- @field focus_guard_ms integer How long an approval that was just focused takes no key.
M.options = {
  cmd = { 'agent-ls', 'serve', '--stdio' },
  open_log = true,
  focus_guard_ms = 400,
}

--- Changes options; call it before the first buffer of a workspace is opened.
--- @param options? table
function M.setup(options)
  M.options = vim.tbl_extend('force', M.options, options or {})
  vim.lsp.config('agent-ls', { cmd = M.options.cmd })
end

--- One short text for a statusline, empty where no agent runs.
--- @return string
function M.statusline()
  return require('agent-ls.runs').statusline()
end

return M
