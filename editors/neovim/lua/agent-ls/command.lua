--- `:Agent` and its subcommands.
local M = {}

local function client()
  return require('agent-ls.client')
end

local function runs()
  return require('agent-ls.runs')
end

--- The newest run, or a complaint.
local function newest()
  if not runs().newest then
    client().complain('no run yet: :Agent run PROMPT')
  end
  return runs().newest
end

local function context_of(args)
  if args.range == 0 or vim.api.nvim_buf_get_name(0) == '' then
    return nil
  end
  return {
    {
      uri = vim.uri_from_bufnr(0),
      range = {
        start = { line = args.line1 - 1, character = 0 },
        ['end'] = { line = args.line2, character = 0 },
      },
    },
  }
end

--- Gathers what a session recorded, with what its sub-agents did where they were spawned.
local function gather(session, done)
  client().request('agent/events', { sessionId = session }, function(result)
    local all = {}
    local function from(i)
      local e = result.events[i]
      if not e then
        return done(all)
      end
      all[#all + 1] = e
      if e.type ~= 'agent_spawned' or not e.childSessionId then
        return from(i + 1)
      end
      gather(e.childSessionId, function(below)
        vim.list_extend(all, below)
        from(i + 1)
      end)
    end
    from(1)
  end)
end

local function show_events(session)
  gather(session, function(events)
    local last
    for _, e in ipairs(events) do
      if (e.depth or 0) == 0 then
        last = e.runId
      end
      if not (runs().runs[e.runId] and runs().runs[e.runId].replayed) then
        runs().event(e)
      end
    end
    for _, e in ipairs(events) do
      runs().runs[e.runId].replayed = true
    end
    if last then
      runs().open(last)
    end
  end)
end

--- Lets the user choose a session; those that have the text, if there is one.
local function choose(prompt, text, chosen)
  client().request('agent/sessions', { limit = 50, query = text ~= '' and text or nil }, function(result)
    vim.ui.select(result.sessions, {
      prompt = prompt,
      format_item = function(s)
        return ('%s  %s  %s'):format(s.startedAt, s.status, require('agent-ls.text').visible(s.title):gsub('\n', ' '))
      end,
    }, function(session)
      if session then
        chosen(session)
      end
    end)
  end)
end

--- The session of the newest run.
local function newest_session()
  local run = newest()
  return run and runs().runs[run] and runs().runs[run].session
end

--- Sets something of the newest run's session.
local function set(what, value)
  local session = newest_session()
  if session then
    client().request('agent/set', { sessionId = session, [what] = value }, function()
      vim.notify(('agent-ls: from the next turn on: %s %s'):format(what, value), vim.log.levels.INFO)
    end)
  end
end

local modes = { 'ask', 'auto', 'plan' }

local subcommands = {}

subcommands.run = {
  doc = 'PROMPT  start a run; with a range, those lines go along',
  run = function(rest, args)
    local function start(prompt)
      if not prompt or prompt == '' then
        return
      end
      client().request('agent/start', { prompt = prompt, context = context_of(args) }, function(started)
        runs().started(started)
      end)
    end
    if rest ~= '' then
      return start(rest)
    end
    vim.ui.input({ prompt = 'Prompt: ' }, start)
  end,
}

subcommands.cancel = {
  doc = 'cancel the newest run',
  run = function()
    if newest() then
      client().request('agent/cancel', { runId = newest() })
    end
  end,
}

subcommands.steer = {
  doc = 'TEXT  tell the running agent something',
  run = function(rest)
    if newest() then
      client().request('agent/steer', { runId = newest(), text = rest, when = 'now' })
    end
  end,
}

subcommands.approve = {
  doc = '[once|session|always|deny [REASON]]  answer the open approval; alone: look at it',
  run = function(rest)
    if rest == '' then
      return require('agent-ls.approval').focus()
    end
    local word, feedback = rest:match('^(%S+)%s*(.*)$')
    require('agent-ls.approval').answer(word, feedback)
  end,
  complete = function()
    return require('agent-ls.approval').words()
  end,
}

subcommands.answer = {
  doc = '[TEXT]  answer the open question; alone: choose or write the answer',
  run = function(rest)
    if rest == '' then
      return require('agent-ls.question').show()
    end
    require('agent-ls.question').answer(rest)
  end,
  complete = function()
    return require('agent-ls.question').words()
  end,
}

subcommands.decisions = {
  doc = 'the hook decisions of the newest run in the quickfix list',
  run = function()
    require('agent-ls.decisions').list()
  end,
}

subcommands.sessions = {
  doc = '[TEXT]  choose a past session, of those that have the text, and read it',
  run = function(rest)
    choose('Sessions', rest, function(session)
      show_events(session.sessionId)
    end)
  end,
}

subcommands.fork = {
  doc = 'PROMPT  go on from the newest run in a session of its own',
  run = function(rest)
    local session = newest_session()
    if not session or rest == '' then
      return session and client().complain('what shall the fork do? :Agent fork PROMPT')
    end
    client().request('agent/fork', { sessionId = session }, function(fork)
      client().request('agent/start', { prompt = rest, sessionId = fork.sessionId }, function(started)
        runs().started(started)
      end)
    end)
  end,
}

subcommands.delete = {
  doc = '[TEXT]  choose a past session and delete what was recorded of it',
  run = function(rest)
    choose('Delete a session', rest, function(session)
      client().request('agent/deleteSession', { sessionId = session.sessionId }, function()
        vim.notify('agent-ls: the session is deleted; files stay as they are', vim.log.levels.INFO)
      end)
    end)
  end,
}

subcommands.mode = {
  doc = 'ask|auto|plan  the mode of the newest session, from its next turn on',
  run = function(rest)
    if not vim.tbl_contains(modes, rest) then
      return client().complain('the modes are ask, auto and plan')
    end
    set('mode', rest)
  end,
  complete = function()
    return modes
  end,
}

subcommands.model = {
  doc = 'NAME  the model of the newest session, from its next turn on',
  run = function(rest)
    if rest == '' then
      return client().complain('name a model: :Agent model NAME')
    end
    set('model', rest)
  end,
}

subcommands.resume = {
  doc = '[SESSION]  go on with a run that was cut off',
  run = function(rest)
    local function resume(session)
      client().request('agent/resume', { sessionId = session }, function(result)
        if not result.runId or result.runId == vim.NIL then
          return vim.notify('agent-ls: nothing to resume: ' .. (result.reason or ''), vim.log.levels.INFO)
        end
        runs().started({ runId = result.runId, sessionId = session })
      end)
    end
    if rest ~= '' then
      return resume(rest)
    end
    client().request('agent/sessions', { limit = 20 }, function(result)
      for _, s in ipairs(result.sessions) do
        if s.status == 'interrupted' or s.status == 'waiting' then
          return resume(s.sessionId)
        end
      end
      vim.notify('agent-ls: no session was cut off', vim.log.levels.INFO)
    end)
  end,
}

subcommands.undo = {
  doc = 'put back what the newest run changed',
  run = function()
    if not newest() then
      return
    end
    client().request('agent/undo', { runId = newest() }, function(result)
      local lines = { ('%d files put back'):format(#result.edits) }
      for _, uri in ipairs(result.conflicts) do
        lines[#lines + 1] = 'changed since, left as it is: ' .. require('agent-ls.text').file(uri)
      end
      vim.cmd('checktime')
      local level = #result.conflicts > 0 and vim.log.levels.WARN or vim.log.levels.INFO
      vim.notify('agent-ls: ' .. table.concat(lines, '\n'), level)
    end)
  end,
}

subcommands.log = {
  doc = 'open the log of the newest run',
  run = function()
    runs().open()
  end,
}

--- The subcommands' names, sorted.
--- @return string[]
function M.names()
  local names = vim.tbl_keys(subcommands)
  table.sort(names)
  return names
end

--- Runs `:Agent …`.
function M.run(args)
  local word, rest = args.args:match('^%s*(%S*)%s*(.-)%s*$')
  local sub = subcommands[word]
  if sub then
    return sub.run(rest, args)
  end
  local lines = { 'agent-ls: what shall the agent do?' }
  if word ~= '' then
    lines[1] = ('agent-ls: unknown subcommand %q'):format(word)
  end
  for _, name in ipairs(M.names()) do
    lines[#lines + 1] = '  :Agent ' .. name .. ' ' .. subcommands[name].doc
  end
  vim.notify(table.concat(lines, '\n'), word == '' and vim.log.levels.INFO or vim.log.levels.ERROR)
end

--- Completes subcommands and their words.
--- @return string[]
function M.complete(lead, line)
  local word = line:match('Agent!?%s+(%S+)%s')
  local sub = word and subcommands[word]
  local candidates = M.names()
  if sub then
    candidates = sub.complete and sub.complete() or {}
  end
  return vim.tbl_filter(function(c)
    return vim.startswith(c, lead)
  end, candidates)
end

return M
