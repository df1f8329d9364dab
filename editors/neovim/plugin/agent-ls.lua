if vim.g.loaded_agent_ls then
  return
end
vim.g.loaded_agent_ls = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify(
    'agent-ls needs Neovim 0.11 or later (vim.lsp.config); this is ' .. tostring(vim.version()),
    vim.log.levels.ERROR
  )
  return
end

vim.api.nvim_create_user_command('Agent', function(args)
  require('agent-ls.command').run(args)
end, {
  nargs = '*',
  range = true,
  desc = 'Run and watch the agent of this workspace',
  complete = function(lead, line)
    return require('agent-ls.command').complete(lead, line)
  end,
})

vim.lsp.enable('agent-ls')
