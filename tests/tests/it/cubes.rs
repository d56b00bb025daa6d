//! k-ary n-cubes: subcubes, their topologies, the largest of them, what a job holds and what is
//! remembered.

mod geometry;
mod largest;
mod record;
mod remembered;
mod topologies;
