--- The agent's questions. One that comes is only announced, and never takes the cursor: what is typed for somewhere
--- else answers nothing. `:Agent answer` asks it, when the user wants to.
local text = require('agent-ls.text')

local M = {}

--- Open ones in the order of arrival.
--- @type { question: table, client_id: integer, respond: fun(answer: table) }[]
local queue = {}

local own_words = 'Answer in your own words…'
local leave = 'Leave it unanswered'

--- How many are open.
--- @return integer
function M.count()
  return #queue
end

local function visible(s)
  return (text.visible(s or ''):gsub('%s+', ' '))
end

--- Takes an entry out; false if it is not open any more.
local function take(entry)
  for i, open in ipairs(queue) do
    if open == entry then
      table.remove(queue, i)
      vim.cmd.redrawstatus()
      return true
    end
  end
  return false
end

local function finish(entry, answer)
  if take(entry) then
    entry.respond(answer)
  else
    require('agent-ls.client').complain('the question is not open any more')
  end
end

local function in_own_words(entry)
  vim.ui.input({ prompt = visible(entry.question.prompt) .. ' ' }, function(given)
    if given and given ~= '' then
      finish(entry, { answer = given })
    end
  end)
end

--- Asks the first open question; whoever leaves the list or the input leaves it open.
function M.show()
  local entry = queue[1]
  if not entry then
    return require('agent-ls.client').complain('no question is open')
  end
  local q = entry.question
  local choices = {}
  for _, option in ipairs(q.options or {}) do
    choices[#choices + 1] = {
      answer = { answer = option.label },
      says = visible(option.label)
        .. (option.description and option.description ~= '' and ': ' .. visible(option.description) or ''),
    }
  end
  if q.freeText or #choices == 0 then
    choices[#choices + 1] = { own = true, says = own_words }
  end
  choices[#choices + 1] = { answer = { dismissed = true }, says = leave }
  vim.ui.select(choices, {
    prompt = ('%s: %s'):format(visible(q.header), visible(q.prompt)),
    format_item = function(choice)
      return choice.says
    end,
  }, function(choice)
    if not choice then
      return
    end
    if choice.own then
      return in_own_words(entry)
    end
    finish(entry, choice.answer)
  end)
end

--- Answers the first open question with a text, which must be one of its options unless any counts.
--- @param given string
function M.answer(given)
  local entry = queue[1]
  if not entry then
    return require('agent-ls.client').complain('no question is open')
  end
  local labels = {}
  for _, option in ipairs(entry.question.options or {}) do
    labels[#labels + 1] = option.label
  end
  if not (entry.question.freeText or #labels == 0 or vim.list_contains(labels, given)) then
    return require('agent-ls.client').complain(
      ('%q is not offered; it is one of: %s'):format(given, table.concat(labels, ', '))
    )
  end
  finish(entry, { answer = given })
end

--- What the first open question offers.
--- @return string[]
function M.words()
  local first = queue[1]
  return vim.tbl_map(function(option)
    return option.label
  end, first and first.question.options or {})
end

local function enqueue(question, client_id, respond)
  queue[#queue + 1] = { question = question, client_id = client_id, respond = respond }
  vim.notify(
    ('agent-ls asks: %s: %s  (:Agent answer)'):format(visible(question.header), visible(question.prompt)),
    vim.log.levels.INFO
  )
  vim.cmd.redrawstatus()
end

--- Answers the server's request, whenever the user does. Must run in a coroutine.
--- @param question table
--- @param client_id integer
--- @return table answer
function M.ask(question, client_id)
  return require('agent-ls.client').await(function(respond)
    enqueue(question, client_id, respond)
  end)
end

--- Takes up a question of an earlier connection; the answer goes by `agent/resolve`.
--- @param question table
--- @param client_id integer
function M.again(question, client_id)
  for _, open in ipairs(queue) do
    if open.question.id == question.id then
      return
    end
  end
  enqueue(question, client_id, function(answer)
    local params = answer.dismissed and { id = question.id, outcome = 'deny' }
      or { id = question.id, answer = answer.answer }
    require('agent-ls.client').resolve(client_id, params)
  end)
end

--- The server says that a question is closed: it was answered elsewhere, or nobody wants to know any more.
--- @param id string
function M.closed(id)
  for _, entry in ipairs(queue) do
    if entry.question.id == id then
      take(entry)
      entry.respond({ dismissed = true }) -- ends the request, and counts for nothing
      return
    end
  end
end

--- The server is gone: what it asked is not open here any more.
--- @param client_id integer
function M.forget(client_id)
  for i = #queue, 1, -1 do
    if queue[i].client_id == client_id then
      table.remove(queue, i)
    end
  end
end

return M
