use std::time::{Duration, Instant};
use truetps_sandbox::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let home = Home::open(Some(args[1].as_ref())).unwrap();
    let t = Instant::now();
    let binary = match find(args.get(2).map(|p| p.as_ref()), None, home.user()) {
        Ok(b) => b,
        Err(e) => {
            println!("{e}\nhint: {:?}", e.hint());
            return;
        }
    };
    println!("find {:?} {binary:?}", t.elapsed());
    let t = Instant::now();
    let catalogue = Catalogue::ask(&binary, home.user()).unwrap();
    println!("catalogue {:?} {}", t.elapsed(), catalogue.names().count());
    let host = HostLimits::read();
    let chosen = chosen_settings(host.memory_bytes, 1000, binary.flavour, binary.version);
    let kept = catalogue.keep_known(chosen.clone());
    if kept != chosen {
        println!("unknown: {:?}", chosen.iter().filter(|c| !kept.contains(c)).collect::<Vec<_>>());
    }
    let settings = Settings::new(&kept);
    let needs = Needs::of(&settings);
    println!("limits {:?} {:?} {host:?}", check_limits(&needs, &host), raise_open_files(&needs));
    for (name, value) in settings.iter() {
        if let Err(e) = catalogue.check(name, value) {
            println!("CHOSEN {e}")
        }
    }
    for _ in 0..2 {
        let t = Instant::now();
        let sandbox =
            match Sandbox::create(&home, &binary, &SandboxOptions { settings: settings.clone(), data_bytes: 0 }) {
                Ok(s) => s,
                Err(e) => {
                    println!("{e}\nhint: {:?}", e.hint());
                    return;
                }
            };
        println!("create {:?}", t.elapsed());
        let t = Instant::now();
        let server = match sandbox.start(&StartOptions::new(settings.clone())) {
            Ok(s) => s,
            Err(e) => {
                println!("{e}\nhint: {:?}", e.hint());
                return;
            }
        };
        println!("start {:?} ready after {:?}", t.elapsed(), server.ready_after());
        let mut c = server.connect(Duration::from_secs(5)).unwrap();
        let v = effective_variables(&mut c).unwrap();
        println!("mismatches {:?}", mismatches(&settings, &v));
        println!("{}", server.option_file_text());
        println!("{:?}", c.query("SELECT user,host FROM mysql.user").unwrap().rows);
        println!("{:?}", c.query("SHOW DATABASES").unwrap().rows);
        println!("{}", server.error_log_tail(30));
        println!("{:?}", list(&home).unwrap());
        let t = Instant::now();
        let s = server.stop(Duration::from_secs(30)).unwrap();
        println!("stop {:?} {s:?}", t.elapsed());
        let t = Instant::now();
        println!("wear {:?} {:?}", sandbox.wear_in_redo().unwrap(), t.elapsed());
        let t = Instant::now();
        let server = sandbox.start(&StartOptions::new(settings.clone())).unwrap();
        println!("restart {:?} ready after {:?}", t.elapsed(), server.ready_after());
        let t = Instant::now();
        println!("kill {:?} {:?}", server.kill().unwrap(), t.elapsed());
        sandbox.keep_prepared().unwrap();
        let t = Instant::now();
        println!("restore {:?} {:?}", sandbox.restore_prepared().unwrap(), t.elapsed());
        let t = Instant::now();
        let server = sandbox.start(&StartOptions::new(settings.clone())).unwrap();
        println!("restart {:?} ready after {:?}", t.elapsed(), server.ready_after());
        drop(server);
        let t = Instant::now();
        sandbox.remove().unwrap();
        println!("remove {:?}", t.elapsed());
    }
    println!("{:?}", list(&home).unwrap());
}
