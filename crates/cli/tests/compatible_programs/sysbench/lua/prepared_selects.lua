-- Prepared statements that give rows: they are counted, which is all that a script can do with them.
local t = sysbench.sql.type

function event()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS three")
  con:query("CREATE TABLE three (id INTEGER)")
  con:query("INSERT INTO three VALUES (1), (2), (3)")
  local select = con:prepare("SELECT id FROM three WHERE id >= ?")
  local from = select:bind_create(t.INT)
  select:bind_param(from)
  for n = 1, 4 do
    from:set(n)
    local rows = select:execute()
    print(n, rows and tonumber(rows.nrows))
  end
  select:close()
end
