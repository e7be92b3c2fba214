// Package check builds each folder of ../kubernetes as `kubectl kustomize` does, and decodes each object strictly into the
// types of the Kubernetes API: an unknown, misspelt or doubled field fails. No cluster is needed.
package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const manifests = "../kubernetes"

// build returns the objects of a folder with a kustomization.yaml.
func build(t *testing.T, folder string) []runtime.Object {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatalf("kustomize %s: %v", folder, err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []runtime.Object
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Errorf("%s, %s: %v\n%s", folder, resource.CurId(), err, text)
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

func folders(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(manifests, "*", "kustomization.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no kustomization.yaml below %s: %v", manifests, err)
	}
	for n := range found {
		found[n] = filepath.Dir(found[n])
	}
	return found
}

// podSpecs are those of all workloads.
func podSpecs(objects []runtime.Object) []corev1.PodTemplateSpec {
	var specs []corev1.PodTemplateSpec
	for _, object := range objects {
		switch object := object.(type) {
		case *appsv1.Deployment:
			specs = append(specs, object.Spec.Template)
		case *batchv1.Job:
			specs = append(specs, object.Spec.Template)
		}
	}
	return specs
}

// containers are all of a pod, with those that are started before the others.
func containers(pod corev1.PodSpec) []corev1.Container {
	return append(append([]corev1.Container{}, pod.InitContainers...), pod.Containers...)
}

func TestObjectsHaveTheFieldsOfTheAPI(t *testing.T) {
	for _, folder := range folders(t) {
		objects := build(t, folder)
		if len(podSpecs(objects)) == 0 {
			t.Errorf("%s starts nothing", folder)
		}
	}
}

func TestAMisspeltFieldFails(t *testing.T) {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	text := "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {prots: []}\n"
	if _, _, err := decoder.Decode([]byte(text), nil, nil); err == nil {
		t.Error("spec.prots was accepted")
	}
}

func TestPodsAreAsSafeAsTheyCanBe(t *testing.T) {
	for _, folder := range folders(t) {
		for _, pod := range podSpecs(build(t, folder)) {
			if pod.Spec.SecurityContext == nil || pod.Spec.SecurityContext.RunAsNonRoot == nil || !*pod.Spec.SecurityContext.RunAsNonRoot {
				t.Errorf("%s: a pod may run as root", folder)
			}
			for _, container := range containers(pod.Spec) {
				context := container.SecurityContext
				if context == nil || context.AllowPrivilegeEscalation == nil || *context.AllowPrivilegeEscalation {
					t.Errorf("%s: container %s may gain privileges", folder, container.Name)
				}
				if container.Resources.Requests.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: container %s has no request of CPU or no limit of memory", folder, container.Name)
				}
				for _, argument := range container.Args {
					if strings.Contains(strings.ToLower(argument), "password") {
						t.Errorf("%s: container %s has a password among its arguments", folder, container.Name)
					}
				}
			}
		}
	}
}

func TestEachReferenceHasItsObject(t *testing.T) {
	for _, folder := range folders(t) {
		objects := build(t, folder)
		configMaps := map[string]bool{}
		for _, object := range objects {
			if configMap, ok := object.(*corev1.ConfigMap); ok {
				configMaps[configMap.Name] = true
			}
		}
		pods := podSpecs(objects)
		for _, pod := range pods {
			for _, volume := range pod.Spec.Volumes {
				if volume.ConfigMap != nil && !configMaps[volume.ConfigMap.Name] {
					t.Errorf("%s: no ConfigMap %s", folder, volume.ConfigMap.Name)
				}
			}
			for _, container := range containers(pod.Spec) {
				checkMounts(t, folder, pod.Spec, container)
				checkProbes(t, folder, container)
			}
		}
		for _, object := range objects {
			switch object := object.(type) {
			case *corev1.Service:
				selects(t, folder, labels.SelectorFromSet(object.Spec.Selector), pods)
			case *policyv1.PodDisruptionBudget:
				selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
				if err != nil {
					t.Error(err)
					continue
				}
				selects(t, folder, selector, pods)
			}
		}
	}
}

func checkMounts(t *testing.T, folder string, pod corev1.PodSpec, container corev1.Container) {
	t.Helper()
	volumes := map[string]bool{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = true
	}
	for _, mount := range container.VolumeMounts {
		if !volumes[mount.Name] {
			t.Errorf("%s: no volume %s", folder, mount.Name)
		}
	}
}

func checkProbes(t *testing.T, folder string, container corev1.Container) {
	t.Helper()
	ports := map[string]bool{}
	for _, port := range container.Ports {
		ports[port.Name] = true
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		if probe != nil && probe.HTTPGet != nil && !ports[probe.HTTPGet.Port.StrVal] {
			t.Errorf("%s: a probe of %s asks the unknown port %s", folder, container.Name, probe.HTTPGet.Port.String())
		}
	}
}

// selects fails if the selector is empty or selects none of the pods.
func selects(t *testing.T, folder string, selector labels.Selector, pods []corev1.PodTemplateSpec) {
	t.Helper()
	if selector.Empty() {
		t.Errorf("%s: a selector that selects everything", folder)
	}
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			return
		}
	}
	t.Errorf("%s: %s selects no pod", folder, selector)
}

// Each pod of an Indexed Job is a part, all have to run at once, and each is told how many there are.
func TestIndexedJobsRunAllPartsAtOnce(t *testing.T) {
	var jobs int
	for _, folder := range folders(t) {
		for _, object := range build(t, folder) {
			job, ok := object.(*batchv1.Job)
			if !ok || job.Spec.CompletionMode == nil || *job.Spec.CompletionMode != batchv1.IndexedCompletion {
				continue
			}
			jobs++
			if job.Spec.Completions == nil || job.Spec.Parallelism == nil || *job.Spec.Completions != *job.Spec.Parallelism {
				t.Errorf("%s: not all parts run at once", folder)
				continue
			}
			told := map[string]string{}
			for _, variable := range job.Spec.Template.Spec.Containers[0].Env {
				told[variable.Name] = variable.Value
			}
			if told["PARTS"] != strconv.Itoa(int(*job.Spec.Completions)) {
				t.Errorf("%s: PARTS is %q, and there are %d", folder, told["PARTS"], *job.Spec.Completions)
			}
			if job.Spec.BackoffLimit == nil || *job.Spec.BackoffLimit != 0 {
				t.Errorf("%s: a part that has failed would be started again", folder)
			}
		}
	}
	if jobs < 2 {
		t.Errorf("%d Indexed Jobs", jobs)
	}
}

// Where pods share no volume, a container that outlives the others copies what they have written.
func TestFoldersAreCopiedToAnObjectStorage(t *testing.T) {
	for _, folder := range []string{"load-object-storage", "merge-object-storage"} {
		pods := podSpecs(build(t, filepath.Join(manifests, folder)))
		if len(pods) != 1 {
			t.Fatalf("%s has %d pods", folder, len(pods))
		}
		pod := pods[0].Spec
		if len(pod.Volumes) != 1 || pod.Volumes[0].EmptyDir == nil || pod.Volumes[0].PersistentVolumeClaim != nil {
			t.Errorf("%s: its volumes are %v", folder, pod.Volumes)
		}
		if pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds < 300 {
			t.Errorf("%s: no time for the copy", folder)
		}
		last := pod.InitContainers[len(pod.InitContainers)-1]
		if last.RestartPolicy == nil || *last.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			t.Errorf("%s: %s does not outlive the others", folder, last.Name)
		}
		for _, container := range pod.InitContainers {
			if !strings.HasPrefix(container.Image, "rclone/rclone:") {
				t.Errorf("%s: %s is of the image %s", folder, container.Name, container.Image)
			}
			if len(container.EnvFrom) != 1 || container.EnvFrom[0].SecretRef.Name != "truetps-storage" {
				t.Errorf("%s: %s has no login", folder, container.Name)
			}
		}
		if container := pod.Containers[0]; !strings.HasPrefix(container.Image, "registry.example/truetps:") {
			t.Errorf("%s: the program is of the image %s", folder, container.Image)
		}
	}
}

func TestTheGatewayHasTimeToDrainAndItsMetricExists(t *testing.T) {
	folder := filepath.Join(manifests, "gateway")
	config, err := os.ReadFile(filepath.Join(folder, "gateway.toml"))
	if err != nil {
		t.Fatal(err)
	}
	drain := regexp.MustCompile(`(?m)^drain_s = (\d+)$`).FindSubmatch(config)
	if drain == nil {
		t.Fatal("gateway.toml has no drain_s")
	}
	seconds, _ := strconv.ParseInt(string(drain[1]), 10, 64)
	source, err := os.ReadFile("../../crates/gateway/src/metrics.rs")
	if err != nil {
		t.Fatal(err)
	}
	var autoscalers, deployments int
	for _, object := range build(t, folder) {
		switch object := object.(type) {
		case *appsv1.Deployment:
			deployments++
			grace := object.Spec.Template.Spec.TerminationGracePeriodSeconds
			if grace == nil || *grace < seconds+10 {
				t.Errorf("the pod is killed before drain_s = %d and preStop are over", seconds)
			}
		case *autoscalingv2.HorizontalPodAutoscaler:
			autoscalers++
			if object.Spec.ScaleTargetRef.Name != "truetps-gateway" {
				t.Errorf("it scales %s", object.Spec.ScaleTargetRef.Name)
			}
			for _, metric := range object.Spec.Metrics {
				if metric.Pods != nil && !strings.Contains(string(source), `"`+metric.Pods.Metric.Name+`"`) {
					t.Errorf("the gateway has no metric %s", metric.Pods.Metric.Name)
				}
			}
		}
	}
	if autoscalers != 1 || deployments != 1 {
		t.Errorf("%d autoscalers and %d deployments", autoscalers, deployments)
	}
}

// The scraper needs no token, and reaches only the figures; tokens pass encrypted, with a key that others cannot read.
func TestTheGatewayIsScrapedAndTokensAreEncrypted(t *testing.T) {
	folder := filepath.Join(manifests, "gateway")
	config, err := os.ReadFile(filepath.Join(folder, "gateway.toml"))
	if err != nil {
		t.Fatal(err)
	}
	portOf := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindSubmatch(config)
		if found == nil {
			t.Fatalf("gateway.toml has no %s", pattern)
		}
		return string(found[1])
	}
	rows := portOf(`(?m)^listen = "0.0.0.0:(\d+)"`)
	metrics := portOf(`(?m)^\[metrics\]\nlisten = "0.0.0.0:(\d+)"\nlisten_remote = true\nanonymous = true$`)
	keyFolder := portOf(`(?m)^tls = .*key = "([^"]*)/tls.key"`)
	var policies int
	for _, object := range build(t, folder) {
		switch object := object.(type) {
		case *appsv1.Deployment:
			pod := object.Spec.Template
			if pod.Annotations["prometheus.io/port"] != metrics {
				t.Errorf("Prometheus scrapes %s, and figures are at %s", pod.Annotations["prometheus.io/port"], metrics)
			}
			container := pod.Spec.Containers[0]
			ports := map[string]string{}
			for _, port := range container.Ports {
				ports[port.Name] = strconv.Itoa(int(port.ContainerPort))
			}
			if ports["https"] != rows || ports["metrics"] != metrics {
				t.Errorf("the ports are %v", ports)
			}
			if port := container.LivenessProbe.HTTPGet.Port.StrVal; port != "metrics" {
				t.Errorf("a probe asks %s, which is encrypted", port)
			}
			mode := func() int32 {
				for _, volume := range pod.Spec.Volumes {
					if volume.Name == "tls" && volume.Secret.DefaultMode != nil {
						return *volume.Secret.DefaultMode
					}
				}
				return 0777
			}()
			mounted := false
			for _, mount := range container.VolumeMounts {
				mounted = mounted || mount.Name == "tls" && mount.MountPath == keyFolder
			}
			if !mounted || mode&07 != 0 || pod.Spec.SecurityContext.FSGroup == nil {
				t.Errorf("the key at %s: mounted %v, mode %o", keyFolder, mounted, mode)
			}
		case *networkingv1.NetworkPolicy:
			policies++
			for _, rule := range object.Spec.Ingress {
				if len(rule.From) == 0 || len(rule.Ports) == 0 {
					t.Errorf("a rule that lets all in, or to all ports")
				}
			}
			if len(object.Spec.PolicyTypes) != 1 || object.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
				t.Errorf("the policy is for %v", object.Spec.PolicyTypes)
			}
		}
	}
	if policies != 1 {
		t.Errorf("%d policies of the network", policies)
	}
}
