-- Several statements in one text.
function event()
  local connection = sysbench.sql.driver():connect()
  connection:query("CREATE TABLE several (a INT)")
  for _, text in ipairs({
    "SELECT 1; SELECT 2",
    "INSERT INTO several VALUES (1); SELECT 2, 3",
    "SELECT 1; INSERT INTO several VALUES (1), (2)",
    "SELECT 5; UPDATE several SET a = 3 WHERE a = 77",
    "INSERT INTO several VALUES (4); ",
    "SELECT 7;;",
    ";",
    "INSERT INTO several VALUES (5); SELECT * FROM absent",
  }) do
    print(text, pcall(function()
      local rows = connection:query(text)
      if rows == nil then return "no rows" end
      return rows.nrows, rows.nfields, tonumber(rows.counter), unpack(rows:fetch_row(), 1, rows.nfields)
    end))
  end
  print(connection:query_row("SELECT count(*), sum(a) FROM several"))
  print(connection:query_row("SELECT 8; SELECT 9, 10"))
  connection:query("DROP TABLE several")
end
