-- Errors after which an event begins again.
local tries = 0

function sysbench.hooks.sql_error_ignorable(err)
  local names = {}
  for name in pairs(err) do
    names[#names + 1] = name
  end
  table.sort(names)
  print("ignorable?", table.concat(names, " "), err.sql_errno, err.sql_state, err.query)
  return tries < 3
end

function sysbench.hooks.before_restart_event(err)
  print("again", type(err), err.errcode == sysbench.error.RESTART_EVENT, err.sql_state, tries)
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  tries = tries + 1
  con:query("SELECT 1")
  con:query("SELECT 2 FROM absent")
end

function thread_done()
  print("not reached")
end

function done()
  print("done")
end
