local Child = require('child')
local workspace = require('workspace')

local function open(changed)
  local root, env = workspace.make(changed)
  local child = Child.start(root, env)
  return child, root
end

local function shot(child, name)
  if vim.env.SHOTS then
    workspace.write(vim.env.SHOTS .. '/neovim-' .. name .. '.txt', child:screen())
  end
end

test('a misspelt field is underlined, with the fix one key away', function()
  local child = open({
    ['.agent-ls/hooks/guard.risor'] = 'func on_tool_call(ctx) {\n    return ctx.tool_cals == []\n}\n',
  })
  child:cmd('edit .agent-ls/hooks/guard.risor')
  equal(child:lua('return vim.bo.filetype'), 'risor', 'filetype')
  local found = child:wait(
    'a diagnostic',
    [[
    local d = vim.diagnostic.get(0)
    for _, one in ipairs(d) do
      if one.code == 'unknown-field' then
        return { one.lnum, one.col, one.message, one.severity }
      end
    end
  ]]
  )
  equal({ found[1], found[2], found[4] }, { 1, 15, 1 }, 'where and how bad')
  has(found[3], 'tool_calls', 'message')
  shot(child, 'diagnostic')
  child:cmd('call cursor(2, 17)')
  child:lua([[vim.lsp.buf.code_action({ apply = true, filter = function(a) return a.title:find('tool_calls') end })]])
  child:wait('the fix', [[return vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]:find('ctx.tool_calls', 1, true) ]])
  child:stop()
end)

test('fields of ctx are completed', function()
  local child = open({
    ['.agent-ls/hooks/guard.risor'] = 'func on_tool_call(ctx) {\n    x := ctx.\n    return nil\n}\n',
  })
  child:cmd('edit .agent-ls/hooks/guard.risor')
  child:wait('the server', [[return #vim.lsp.get_clients({ bufnr = 0 }) > 0 and vim.lsp.get_clients()[1].initialized]])
  local labels = child:lua([[
    local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 1, character = 13 } }
    local results = vim.lsp.buf_request_sync(0, 'textDocument/completion', params, 5000)
    local labels = {}
    for _, r in pairs(results) do
      for _, item in ipairs(r.result.items or r.result) do
        labels[#labels + 1] = item.label
      end
    end
    return labels
  ]])
  has(table.concat(labels, ' '), 'tool_calls', 'labels')
  child:stop()
end)

test('a run from start to undo, with an approval that no stray key answers', function()
  local child, root = open()
  local before = workspace.read(root .. '/calc.go')
  child:cmd('edit calc.go')
  child:lua([[require('agent-ls').setup({ focus_guard_ms = 60000 })]])
  child:cmd('Agent run make Add add')
  local text = child:wait_float()
  has(text, 'calc.go', 'approval')
  has(text, '-func Add(a, b int) int { return a - b }', 'approval')
  has(text, '+func Add(a, b int) int { return a + b }', 'approval')
  has(text, 'go allow once', 'approval')
  has(child:lua([[return require('agent-ls').statusline()]]), '1 approval', 'statusline')
  shot(child, 'approval')

  -- The cursor is still in the user's window, and whatever is typed goes there.
  equal(child:lua('return vim.bo.filetype'), 'go', 'where the cursor is')
  child:type('yy<CR>y<Esc>a yes<Esc>u')
  has(child:float() or '', 'go allow once', 'after stray keys')
  -- Inside the float no single key says yes either.
  child:cmd('Agent approve')
  child:type('y<CR>oaAgoxYp1')
  child:type('<Esc>')
  has(child:float() or '', 'go allow once', 'after stray keys in the float')
  equal(workspace.read(root .. '/calc.go'), before, 'calc.go before the answer')
  child:cmd('wincmd p')

  child:cmd('Agent approve once')
  child:wait_status('done')
  has(workspace.read(root .. '/calc.go'), 'a + b', 'calc.go after the answer')
  child:wait('the buffer to follow', [[return vim.api.nvim_buf_get_lines(0, 3, 4, false)[1]:find('a + b', 1, true)]])
  equal(child:float(), nil, 'the float after the answer')

  child:cmd('Agent decisions')
  local item = child:wait(
    'the quickfix list',
    [[
    local items = vim.fn.getqflist()
    for _, item in ipairs(items) do
      if item.text:find('deny') then
        return { vim.fn.bufname(item.bufnr), item.lnum, item.text }
      end
    end
  ]]
  )
  has(item[1], '.agent-ls/hooks/guard.risor', 'decision')
  equal(item[2], 4, 'the line that decided')
  has(item[3], 'no commands here', 'decision')
  shot(child, 'decisions')

  child:cmd('Agent undo')
  child:wait(
    'the undo',
    [[
    vim.cmd('silent! checktime')
    local f = io.open(vim.fn.getcwd() .. '/calc.go', 'rb')
    local text = f:read('*a')
    f:close()
    return text:find('a - b', 1, true)
  ]]
  )
  equal(workspace.read(root .. '/calc.go'), before, 'calc.go after undo')
  child:stop()
end)

test('the chord in the focused float answers, once its guard is over', function()
  local child, root = open()
  child:cmd('edit calc.go')
  child:lua([[require('agent-ls').setup({ focus_guard_ms = 0 })]])
  child:cmd('Agent run make Add add')
  child:wait_float()
  child:cmd('Agent approve')
  child:type('gd')
  child:wait_status('done')
  has(workspace.read(root .. '/calc.go'), 'a - b', 'calc.go after a denial')
  child:stop()
end)

test('a refused hunk stays as it was', function()
  local many = 'package calc\n\n// one\nvar A = 1\n' .. ('// filler\n'):rep(12) .. 'var B = 1\n'
  local changed = many:gsub('= 1', '= 2')
  local child, root = open({
    ['calc.go'] = many,
    ['.agent-ls/play.yaml'] = vim.json.encode({
      turns = {
        { tool_calls = { { name = 'read_file', arguments = { path = 'calc.go' } } } },
        { tool_calls = { { name = 'write_file', arguments = { path = 'calc.go', content = changed } } } },
        { text = 'done' },
      },
    }),
  })
  child:cmd('edit .agent-ls/play.yaml')
  child:lua([[require('agent-ls').setup({ focus_guard_ms = 0 })]])
  child:cmd('Agent run two hunks')
  local text = child:wait_float()
  has(text, '[x] hunk 2', 'approval')
  child:cmd('Agent approve')
  child:cmd([[call search('hunk 2')]])
  child:type('<Space>')
  has(child:float() or '', '[ ] hunk 2', 'approval')
  shot(child, 'hunks')
  child:type('go')
  child:wait_status('done')
  local after = workspace.read(root .. '/calc.go')
  has(after, 'var A = 2', 'the hunk that was taken')
  has(after, 'var B = 1', 'the hunk that was refused')
  child:stop()
end)

test('cancel takes the approval down and ends the run', function()
  local child, root = open()
  local before = workspace.read(root .. '/calc.go')
  child:cmd('edit calc.go')
  child:cmd('Agent run make Add add')
  child:wait_float()
  child:cmd('Agent cancel')
  child:wait_status('cancelled')
  equal(child:float(), nil, 'the float after the cancel')
  equal(workspace.read(root .. '/calc.go'), before, 'calc.go')
  child:stop()
end)

local function asking(options)
  return {
    ['.agent-ls/agent.toml'] = workspace.manifest
      :gsub('tools = %["%*"%]', 'tools = ["ask_user"]')
      :gsub('%[stages.work.hooks%].*', ''),
    ['.agent-ls/play.yaml'] = vim.json.encode({
      turns = {
        {
          tool_calls = {
            { name = 'ask_user', arguments = { header = 'Base', prompt = 'Which one?', options = options } },
          },
        },
        { expect = 'postgres', text = 'So be it.' },
      },
    }),
  }
end

test('a question waits for its answer, which no stray key gives', function()
  local child = open(asking({ { label = 'sqlite' }, { label = 'postgres', description = 'a server' } }))
  child:cmd('edit calc.go')
  child:cmd('Agent run ask me')
  child:wait('the question', [[return require('agent-ls.question').count() == 1]])
  has(child:messages(), 'agent-ls asks: Base: Which one?', 'messages')
  has(child:lua([[return require('agent-ls').statusline()]]), '1 question', 'statusline')
  child:type('1<CR>2<CR>y<CR><Esc>a2<CR><Esc>')
  equal(child:lua([[return require('agent-ls.question').count()]]), 1, 'questions after stray keys')
  -- Leaving the list leaves it open.
  child:lua([[
    vim.ui.select = function(items, options, chosen)
      vim.g.offered = options.prompt .. ' ' .. table.concat(vim.tbl_map(options.format_item, items), ' | ')
      chosen(vim.g.choose and items[vim.g.choose] or nil)
    end
  ]])
  child:cmd('Agent answer')
  equal(
    child:lua('return vim.g.offered'),
    'Base: Which one? sqlite | postgres: a server | Answer in your own words… | Leave it unanswered',
    'what is offered'
  )
  equal(child:lua([[return require('agent-ls.question').count()]]), 1, 'questions after leaving the list')
  child:cmd('let g:choose = 2')
  child:cmd('Agent answer')
  child:wait_status('done')
  equal(child:lua([[return require('agent-ls.question').count()]]), 0, 'questions after the answer')
  child:stop()
end)

test('a question is answered in own words, and taken down by a cancel', function()
  local child = open(asking(nil))
  child:cmd('edit calc.go')
  child:cmd('Agent run ask me')
  child:wait('the question', [[return require('agent-ls.question').count() == 1]])
  child:cmd('Agent answer postgres, please')
  child:wait_status('done')
  child:cmd('Agent run ask me again')
  child:wait('the question', [[return require('agent-ls.question').count() == 1]])
  child:cmd('Agent cancel')
  child:wait_status('cancelled')
  child:wait('the question to go', [[return require('agent-ls.question').count() == 0]])
  child:stop()
end)

test('what a sub-agent does stands in the log of the run that spawned it', function()
  local child = open({
    ['.agent-ls/play.yaml'] = vim.json.encode({
      turns = {
        { when = { depth = 0 }, tool_calls = { { name = 'spawn', arguments = { prompt = 'look' } } } },
        {
          when = { depth = 1 },
          text = 'I look around.',
          tool_calls = { { name = 'read_file', arguments = { path = 'calc.go' } } },
        },
        { when = { depth = 1 }, text = 'Seen.' },
        { when = { depth = 0 }, text = 'All seen.' },
      },
    }),
  })
  local log = [[
    local runs = require('agent-ls.runs')
    return table.concat(vim.api.nvim_buf_get_lines(runs.runs[runs.newest].log, 0, -1, false), '\n')
  ]]
  child:cmd('edit calc.go')
  child:cmd('Agent run look around')
  child:wait_status('done')
  local live = child:lua(log)
  has(live, '⤷ sub-agent', 'log')
  has(live, '\n  I look around.\n', 'log')
  has(live, '\n  → read_file', 'log')
  has(live, '\n  sub-agent done', 'log')
  -- The record of the session shows the same.
  local session = child:lua([[local r = require('agent-ls.runs'); return r.runs[r.newest].session]])
  child:cmd('%bwipeout!')
  child:lua([[require('agent-ls.runs').runs = {}]])
  child:cmd('edit calc.go')
  child:lua([[vim.ui.select = function(items, _, chosen) chosen(items[1]) end]])
  child:cmd('Agent sessions')
  child:wait(
    'the record',
    [[
    local runs = require('agent-ls.runs')
    local run = runs.newest and runs.runs[runs.newest]
    return run and run.replayed
  ]]
  )
  local recorded = child:lua(log)
  has(recorded, '\n  I look around.\n', 'the record of ' .. session)
  has(recorded, '\n  sub-agent done', 'the record of ' .. session)
  child:stop()
end)

test('what was open when the editor died is shown again', function()
  local root, env = workspace.make()
  local first = Child.start(root, env)
  first:cmd('edit calc.go')
  first:cmd('Agent run make Add add')
  first:wait_float()
  first:stop()
  local second = Child.start(root, env)
  second:cmd('edit calc.go')
  local text = second:wait_float()
  has(text, 'a + b', 'approval')
  second:cmd('Agent approve once')
  second:wait(
    'the edit',
    [[
    local f = io.open(vim.fn.getcwd() .. '/calc.go', 'rb')
    local text = f:read('*a')
    f:close()
    return text:find('a + b', 1, true)
  ]]
  )
  second:stop()
end)

test('a hook that cannot run stops the start and says where', function()
  local child = open({ ['.agent-ls/hooks/guard.risor'] = 'func on_tool_call() {\n    return nil\n}\n' })
  child:cmd('edit calc.go')
  child:cmd('Agent run anything')
  child:wait('the complaint', [[return vim.fn.execute('messages'):find('guard.risor:1:', 1, true)]])
  child:stop()
end)

test('health, help and subcommands', function()
  local child = open()
  child:cmd('edit calc.go')
  child:cmd('checkhealth agent-ls')
  local health = child:lua([[return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')]])
  has(health, 'agent-ls', 'health')
  has(health, 'hook contract', 'health')
  child:cmd('bwipeout')
  child:cmd(
    'helptags '
      .. vim.fn.fnameescape(child:lua([[return vim.fn.globpath(vim.o.rtp, 'doc/agent-ls.txt'):match('^(.*)/')]]))
  )
  child:cmd('help agent-ls-approvals')
  has(child:lua('return vim.fn.bufname()'), 'agent-ls.txt', 'help')
  equal(child:lua([[return vim.fn.getcompletion('Agent ', 'cmdline')]]), {
    'answer',
    'approve',
    'cancel',
    'decisions',
    'delete',
    'fork',
    'log',
    'mode',
    'model',
    'resume',
    'run',
    'sessions',
    'steer',
    'undo',
  }, 'subcommands')
  pcall(child.cmd, child, 'Agent nonsense')
  has(child:messages(), 'unknown subcommand "nonsense"', 'messages')
  child:stop()
end)

test('control and bidirectional characters are made visible', function()
  local child = open()
  equal(
    child:lua([[return require('agent-ls.text').visible('a\27[2J\226\128\174b\n\tc')]]),
    'a\\u{001b}[2J\\u{202e}b\n\tc',
    'visible'
  )
  child:stop()
end)
