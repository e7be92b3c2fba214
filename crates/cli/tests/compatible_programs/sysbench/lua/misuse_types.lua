-- Values of a type that cannot be meant: that they are refused is what counts, not the words for it.
local t = sysbench.sql.type

local function try(name, f, ...)
  print(name, (pcall(f, ...)))
end

function prepare()
  local con = sysbench.sql.driver():connect()
  try("no statement", con.query, con, nil)
  try("a number", con.query, con, 5)
  try("a table", con.query, con, {})
  try("no statement to prepare", con.prepare, con, nil)
  try("no row", con.bulk_insert_next, con, nil)
  local statement = con:prepare("SELECT ?")
  try("no type", statement.bind_create, statement)
  try("no width", statement.bind_create, statement, t.CHAR)
  local number = statement:bind_create(t.INT)
  try("a text for a number", number.set, number, "text")
  try("a table for a number", number.set, number, {})
  local text = statement:bind_create(t.VARCHAR, 5)
  try("a number for a text", text.set, text, 12)
  try("a table for a text", text.set, text, {})
  try("no connection", con.query)
  print(con:query_row("SELECT 'still here'"))
end
