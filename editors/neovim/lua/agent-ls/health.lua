--- `:checkhealth agent-ls`.
local M = {}

function M.check()
  local health = vim.health
  health.start('agent-ls')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.11 or later is needed', { 'vim.lsp.config and vim.lsp.enable came with 0.11' })
    return
  end
  local cmd = require('agent-ls').options.cmd
  if vim.fn.executable(cmd[1]) == 0 then
    health.error(('%q is not executable'):format(cmd[1]), {
      'build it with `make build` and put bin/agent-ls on PATH',
      "or say where it is: require('agent-ls').setup({ cmd = { '/path/to/agent-ls', 'serve', '--stdio' } })",
    })
    return
  end
  local version = vim.system({ cmd[1], 'version' }, { text = true, timeout = 5000 }):wait()
  if version.code == 0 then
    health.ok(vim.trim(version.stdout))
  else
    health.error(('%s version failed: %s'):format(cmd[1], vim.trim(version.stderr or '')))
    return
  end
  local doctor = vim.system({ cmd[1], 'doctor' }, { text = true, timeout = 20000 }):wait()
  for _, line in ipairs(vim.split(vim.trim(doctor.stdout or ''), '\n')) do
    health.info(line)
  end
  local clients = vim.lsp.get_clients({ name = 'agent-ls' })
  if #clients == 0 then
    health.info('no server runs: open a file below a folder with .agent-ls, or start a run with :Agent run')
  end
  for _, client in ipairs(clients) do
    health.ok(('a server runs in %s'):format(client.root_dir or '(no folder)'))
  end
end

return M
