//! k-ary n-cubes: subcubes, their topologies, the largest cubes, the record of a job, and failed
//! searches that are remembered.

mod geometry;
mod largest;
mod record;
mod remembered;
mod topologies;
