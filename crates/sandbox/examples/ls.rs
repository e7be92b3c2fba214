use truetps_sandbox::*;
fn main() {
    let home = Home::open(Some(std::env::args().nth(1).unwrap().as_ref())).unwrap();
    println!("{:?}", list(&home).unwrap());
    let p = home.path().join("servers");
    for e in std::fs::read_dir(p).unwrap() { let l = e.unwrap().path().join("lock"); if let Ok(f) = std::fs::File::open(&l) { println!("{:?} {:?}", l, f.try_lock_shared()); } }
}
