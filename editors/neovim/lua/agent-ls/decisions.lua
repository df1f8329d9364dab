--- Decisions of hooks, in the quickfix list.
local text = require('agent-ls.text')

local M = {}

--- Those that arrived while this Neovim runs, oldest first.
M.seen = {}
local kept = 1000

--- @param decision table
function M.add(decision)
  M.seen[#M.seen + 1] = decision
  if #M.seen > kept then
    table.remove(M.seen, 1)
  end
end

--- A decision as a quickfix entry: the line that made it, what it was and why.
--- @param d table
--- @param encoding string
function M.item(d, encoding)
  local words = { d.event, d.action }
  local what = table.concat(words, ' ')
  local why = d.reason or (d.error and d.error.message)
  if why then
    what = what .. ': ' .. why
  end
  what = ('%s (%.1f ms)'):format(what, (d.durationUs or 0) / 1000)
  for _, change in ipairs(d.changes or {}) do
    what = ('%s  %s: %s → %s'):format(
      what,
      change.path,
      vim.json.encode(change.before),
      vim.json.encode(change.after)
    )
  end
  local item = { text = text.visible(what):gsub('\n', ' '), type = d.action == 'error' and 'E' or 'I' }
  local where = (d.error and d.error.uri and d.error) or d.hook
  if where and where.uri and where.range then
    local located = vim.lsp.util.locations_to_items({ { uri = where.uri, range = where.range } }, encoding)[1]
    if located then
      item.filename, item.lnum, item.col = located.filename, located.lnum, located.col
      item.end_lnum, item.end_col = located.end_lnum, located.end_col
    end
  end
  return item
end

--- Fills the quickfix list with a run's decisions and opens it.
--- @param run_id string?
function M.list(run_id)
  run_id = run_id or require('agent-ls.runs').newest
  local client = require('agent-ls.client')
  client.request('agent/decisions', { runId = run_id, limit = 1000 }, function(result, lsp)
    local items = {}
    for _, d in ipairs(result.decisions) do
      items[#items + 1] = M.item(d, lsp.offset_encoding)
    end
    vim.fn.setqflist({}, ' ', { title = 'agent-ls: hook decisions', items = items })
    if #items == 0 then
      return vim.notify('agent-ls: no hook has decided anything', vim.log.levels.INFO)
    end
    vim.cmd('botright copen')
  end)
end

return M
