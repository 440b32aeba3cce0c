æ
"serveõ

xPlaceholder*
dtype0
5
vVarHandleOp*
shared_namecount*
dtype0
1
cStatefulPartitionedCallxv*
fR
step
2
dStatefulPartitionedCallxv*
f	R
plainµ
o

step
a
h
b
rRelua 
putAssignAddVariableOpha"
br:activations:02

putput
B

plain
a
h
b
rRelua"
br:activations:0*0
step(

x
x:0
y
c:0*1
plain(

x
x:0
y
d:0