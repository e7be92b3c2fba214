use std::time::{Duration, Instant};
use truetps_sandbox::*;
fn rss(pid: u32) -> u64 {
    let s = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    s.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap().trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}
fn maps(pid: u32) -> usize {
    std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines().count()
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let home = Home::open(Some(args[1].as_ref())).unwrap();
    let n: u32 = args[2].parse().unwrap();
    let binary = find(args.get(3).map(|p| p.as_ref()), None, home.user()).unwrap();
    let host = HostLimits::read();
    let settings = Settings::new(&chosen_settings(host.memory_bytes, n, binary.flavour, binary.version));
    let needs = Needs::of(&settings);
    println!("{:?} {:?}", check_limits(&needs, &host), raise_open_files(&needs));
    let sandbox = Sandbox::create(&home, &binary, &SandboxOptions::default()).unwrap();
    let server = sandbox.start(&StartOptions::new(settings.clone())).unwrap();
    println!("ready {:?}", server.ready_after());
    let pid = server.pid();
    let mut c = server.connect(Duration::from_secs(30)).unwrap();
    println!("mismatches {:?}", mismatches(&settings, &effective_variables(&mut c).unwrap()));
    c.execute("CREATE DATABASE t").unwrap();
    c.execute("CREATE TABLE t.t (id INT PRIMARY KEY AUTO_INCREMENT, k INT, c CHAR(120)) ENGINE=InnoDB").unwrap();
    let (r0, m0) = (rss(pid), maps(pid));
    let t = Instant::now();
    let mut v: Vec<_> = (0..n).map(|_| server.connect(Duration::from_secs(30)).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(500));
    let (r1, m1) = (rss(pid), maps(pid));
    println!(
        "base {r0} kB; {n} idle in {:?}: +{} kB = {} kB each; maps {m0} -> {m1} = {} each",
        t.elapsed(),
        r1 - r0,
        (r1 - r0) as f64 / n as f64,
        (m1 - m0) as f64 / n as f64
    );
    for c in &mut v {
        c.execute("INSERT INTO t.t (k, c) VALUES (1, REPEAT('x', 100))").unwrap();
    }
    let r2 = rss(pid);
    println!("after an INSERT each: {} kB each; maps {}", (r2 - r0) as f64 / n as f64, maps(pid));
    for _ in 0..5 {
        for c in &mut v {
            c.query("SELECT * FROM t.t ORDER BY c DESC LIMIT 3").unwrap();
        }
        if n > 1000 {
            break;
        }
    }
    println!(
        "after a sorted SELECT each: {} kB each; fds {}",
        (rss(pid) - r0) as f64 / n as f64,
        std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
    );
}
