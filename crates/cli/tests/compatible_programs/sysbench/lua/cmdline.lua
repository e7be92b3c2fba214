-- What a script sees of its command line.
local line = sysbench.cmdline
print("body", line.command, line.script_path, sysbench.tid, sysbench.opt)

local function show()
  for i = 1, #line.argv do
    print("argv", i, line.argv[i])
  end
  for _, name in ipairs({ "NULL", "BOOL", "INT", "SIZE", "DOUBLE", "STRING", "LIST", "FILE", "MAX" }) do
    print(name, tostring(line["ARG_" .. name]), tonumber(line["ARG_" .. name]))
  end
  print("parallel", line.PARALLEL_COMMAND)
  for _, name in ipairs({ "show", "work", "run", "absent" }) do
    print(name, line.command_defined(name), pcall(line.command_parallel, name))
  end
end

line.options = { b = { "the second" }, a = { "the first", 1 }, long_name = { "the third", { "x" } } }
line.commands = {
  show = { show },
  options = { function() line.print_test_options() end },
  work = { function() print("working as", sysbench.tid < sysbench.opt.threads) end, line.PARALLEL_COMMAND },
  fail = { function() return false end },
  fail_together = { function() return false end, line.PARALLEL_COMMAND },
  raise_together = { function() error("together") end, line.PARALLEL_COMMAND },
  prepare = { function() print("prepare of the table") return true end },
}

function prepare()
  print("prepare of the script")
end

function cleanup()
  print("cleanup", line.command)
end
